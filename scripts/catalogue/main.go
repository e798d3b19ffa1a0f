// Command catalogue writes llm/provider/catalogue.json, the list prices and limits of well-known models, from the
// table of the Python package litellm. It takes facts only: prices, context windows and output limits of chat models
// at the endpoints that an adapter of this module has.
//
// The LICENSE of the package puts everything outside of its directory enterprise/, and so the table, under the MIT
// licence, copyright (c) 2023 Berri AI. Read the LICENSE again when you take a newer version.
//
//	pip download --no-deps litellm==VERSION && unzip litellm-*.whl litellm/model_prices_and_context_window_backup.json
//	go run ./scripts/catalogue -version VERSION litellm/model_prices_and_context_window_backup.json >llm/provider/catalogue.json
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"
)

// hosts has the API host of each provider of the table.
var hosts = map[string]string{"openai": "api.openai.com", "anthropic": "api.anthropic.com", "gemini": "generativelanguage.googleapis.com",
	"xai": "api.x.ai", "deepseek": "api.deepseek.com", "mistral": "api.mistral.ai", "groq": "api.groq.com"}

func main() {
	version := flag.String("version", "", "version of the package")
	flag.Parse()
	if err := write(*version, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "catalogue:", err)
		os.Exit(1)
	}
}

func write(version, file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var table map[string]map[string]any
	if err := json.Unmarshal(data, &table); err != nil {
		return err
	}
	models := map[string]map[string][]float64{}
	for name, facts := range table {
		host, mode := hosts[text(facts["litellm_provider"])], text(facts["mode"])
		if host == "" || mode != "chat" && mode != "responses" || strings.HasPrefix(name, "ft:") {
			continue
		}
		row := []float64{
			price(facts, "input_cost_per_token"), price(facts, "output_cost_per_token"),
			price(facts, "cache_read_input_token_cost"), price(facts, "cache_creation_input_token_cost"),
			number(facts["max_input_tokens"]), number(facts["max_output_tokens"]),
		}
		if row[0] < 0 || row[1] < 0 || row[0]+row[1] == 0 {
			continue // not priced by tokens, or free while it is a preview
		}
		if models[host] == nil {
			models[host] = map[string][]float64{}
		}
		models[host][strings.TrimPrefix(name, text(facts["litellm_provider"])+"/")] = row
	}
	return print(version, models)
}

// price returns US dollars per million tokens, or -1 if the table has none. If the price depends on the length of the
// request, it is the highest, so that a budget holds.
func price(facts map[string]any, field string) float64 {
	most := -1.0
	for name, v := range facts {
		tier, ok := strings.CutPrefix(name, field)
		_, priced := v.(float64)
		if ok && priced && (tier == "" || strings.HasPrefix(tier, "_above_") && strings.HasSuffix(tier, "_tokens")) {
			most = max(most, math.Round(number(v)*1e12)/1e6)
		}
	}
	return most
}

func text(v any) string { s, _ := v.(string); return s }

func number(v any) float64 { n, _ := v.(float64); return n }

// license is what the LICENSE of the package says about the table.
const license = "MIT, Copyright (c) 2023 Berri AI; applies to all content outside of enterprise/, and so to this table"

// print writes one line for each model.
func print(version string, models map[string]map[string][]float64) error {
	fmt.Printf("{\"source\": \"litellm\", \"version\": %q, \"date\": %q,\n", version, time.Now().UTC().Format(time.DateOnly))
	fmt.Printf("\"license\": %q, \"hosts\": {", license)
	for i, host := range slices.Sorted(maps.Keys(models)) {
		fmt.Printf("%s\n%q: {", map[bool]string{true: ","}[i > 0], host)
		for j, name := range slices.Sorted(maps.Keys(models[host])) {
			row, err := json.Marshal(models[host][name])
			if err != nil {
				return err
			}
			fmt.Printf("%s\n  %q: %s", map[bool]string{true: ","}[j > 0], name, row)
		}
		fmt.Print("}")
	}
	fmt.Println("}}")
	return nil
}
