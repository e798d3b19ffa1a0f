package deferred

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

const searchHelp = `Finds tools that are not loaded yet, and loads them. Forms of the query:
"select:name_a,name_b" loads tools by their exact names;
"+word other words" finds tools that have the first word, best matches for the others first;
"some words" finds tools by their names and descriptions.`

type query struct {
	Query      string `json:"query" jsonschema:"what to look for"`
	MaxResults int    `json:"max_results,omitempty" jsonschema:"maximum number of tools; default 5"`
}

const (
	defaultResults = 5
	mostResults    = 50
)

type found struct {
	Tools   string   `json:"tools"`
	Promote []string `json:"__promote"`
}

// searchTool returns the tool ToolSearch.
func (p *policy) searchTool() awaken.Tool {
	return awaken.NewTool(awaken.ToolSpec{ID: SearchTool, Egress: awaken.Egress{None: true}, Description: searchHelp, Effect: awaken.ReadOnly},
		func(ctx context.Context, call *awaken.ToolCall, q query) (*awaken.ToolResult, error) {
			limit := q.MaxResults
			if limit <= 0 {
				limit = defaultResults
			}
			var deferred []llm.Tool
			for _, t := range call.Tools {
				if p.mode(t.Name) == Deferred {
					deferred = append(deferred, t)
				}
			}
			hits := search(deferred, q.Query, min(limit, mostResults))
			if len(hits) == 0 {
				return awaken.TextResult("No deferred tools match the query."), nil
			}
			var out found
			var sb strings.Builder
			sb.WriteString("<functions>\n")
			for _, t := range hits {
				data, err := json.Marshal(struct {
					Description string          `json:"description"`
					Name        string          `json:"name"`
					Parameters  json.RawMessage `json:"parameters"`
				}{t.Description, t.Name, t.Parameters})
				if err != nil {
					return nil, err
				}
				sb.WriteString("<function>" + string(data) + "</function>\n")
				out.Promote = append(out.Promote, t.Name)
			}
			sb.WriteString("</functions>")
			out.Tools = sb.String()
			if err := p.promote(ctx, call, call.Profile, call.Agent.ID, out.Promote); err != nil {
				return nil, err
			}
			data, err := json.Marshal(out)
			return &awaken.ToolResult{Data: data, Content: []llm.Block{llm.Text(out.Tools)}}, err
		})
}

// search returns the tools that match a query, best first. Ties are ordered by name.
func search(tools []llm.Tool, q string, limit int) []llm.Tool {
	q = strings.TrimSpace(q)
	if names, ok := strings.CutPrefix(q, "select:"); ok {
		var out []llm.Tool
		for name := range strings.SplitSeq(names, ",") {
			is := func(t llm.Tool) bool { return t.Name == strings.TrimSpace(name) }
			if i := slices.IndexFunc(tools, is); i >= 0 && !slices.ContainsFunc(out, is) {
				out = append(out, tools[i])
			}
		}
		return out
	}
	need := ""
	if rest, ok := strings.CutPrefix(q, "+"); ok {
		need, q, _ = strings.Cut(rest, " ")
		need = strings.ToLower(need)
		tools = slices.DeleteFunc(slices.Clone(tools), func(t llm.Tool) bool {
			return !strings.Contains(strings.ToLower(t.Name+" "+t.Description), need)
		})
	}
	scores := rank(tools, words(q))
	order := make([]int, 0, len(tools))
	for i := range tools {
		if scores[i] > 0 || need != "" {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(tools[a].Name, tools[b].Name))
	})
	var out []llm.Tool
	for _, i := range order[:min(limit, len(order))] {
		out = append(out, tools[i])
	}
	return out
}

// rank scores tools by BM25. A word in a tool's name counts three times; a word that only
// starts with a word of the query counts half.
func rank(tools []llm.Tool, terms []string) []float64 {
	const k1, b, nameWeight = 1.2, 0.75, 3
	docs := make([]map[string]float64, len(tools))
	lengths := make([]float64, len(tools))
	total := 0.0
	for i, t := range tools {
		docs[i] = map[string]float64{}
		add := func(text string, weight float64) {
			for _, w := range words(text) {
				docs[i][w] += weight
				lengths[i] += weight
			}
		}
		add(t.Name, nameWeight)
		add(t.Description, 1)
		total += lengths[i]
	}
	scores := make([]float64, len(tools))
	for _, term := range terms {
		freq := make([]float64, len(tools))
		having := 0.0
		for i, doc := range docs {
			freq[i] = doc[term]
			if freq[i] == 0 && len(term) >= 3 {
				for _, w := range slices.Sorted(maps.Keys(doc)) { // float sums depend on the order
					if strings.HasPrefix(w, term) {
						freq[i] += doc[w] / 2
					}
				}
			}
			if freq[i] > 0 {
				having++
			}
		}
		idf := math.Log(1 + (float64(len(tools))-having+0.5)/(having+0.5))
		for i, f := range freq {
			if f > 0 {
				scores[i] += idf * f * (k1 + 1) / (f + k1*(1-b+b*lengths[i]*float64(len(tools))/total))
			}
		}
	}
	return scores
}

// words returns the lower-case words of a text. Names are split where lower case changes to
// upper case.
func words(text string) []string {
	var sb strings.Builder
	small := false
	for _, c := range text {
		switch {
		case !unicode.IsLetter(c) && !unicode.IsDigit(c):
			c = ' '
		case unicode.IsUpper(c) && small:
			sb.WriteByte(' ')
		}
		small = unicode.IsLower(c)
		sb.WriteRune(unicode.ToLower(c))
	}
	return strings.Fields(sb.String())
}
