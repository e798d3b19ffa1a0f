package provider

import (
	_ "embed"
	"encoding/json"
	"net/url"
	"strings"
	"sync"

	"github.com/awaken-go/awaken/llm"
)

//go:embed catalogue.json
var catalogueData []byte

// Catalogue names the source of the built-in prices and limits of models.
type Catalogue struct {
	Source  string `json:"source"`  // the package that they were taken from
	Version string `json:"version"` // of the package
	Date    string `json:"date"`    // when they were taken, YYYY-MM-DD
}

// catalogue has, by API host and by the exact name of a model: the list prices of input, output, cache reads
// and cache writes in US dollars per million tokens, -1 if there is none, the context window and the output
// limit, 0 if unknown. Package scripts/catalogue writes it.
var catalogue = sync.OnceValue(func() (c struct {
	Catalogue
	Hosts map[string]map[string][6]float64 `json:"hosts"`
}) {
	if err := json.Unmarshal(catalogueData, &c); err != nil {
		panic("catalogue.json: " + err.Error())
	}
	return c
})

// CatalogueSource returns the source of the built-in prices and limits.
func CatalogueSource() Catalogue { return catalogue().Catalogue }

// Catalogued returns the list prices and limits of a model at the provider's own endpoint, by its exact name. A
// model that is not in the catalogue, or is served by another host, has none: prices are never guessed.
func Catalogued(baseURL, model string) (llm.ModelInfo, bool) {
	u, err := url.Parse(baseURL)
	if err != nil {
		return llm.ModelInfo{}, false
	}
	row, ok := catalogue().Hosts[strings.ToLower(u.Hostname())][strings.TrimPrefix(model, "models/")]
	if !ok {
		return llm.ModelInfo{}, false
	}
	return llm.ModelInfo{ID: model, ContextWindow: int(row[4]), MaxOutputTokens: int(row[5]),
		Price: &llm.ListPrice{Input: row[0], Output: row[1], CacheRead: listPrice(row[2]), CacheWrite: listPrice(row[3])}}, true
}

func listPrice(price float64) *float64 {
	if price < 0 {
		return nil
	}
	return &price
}
