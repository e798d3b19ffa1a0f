package demo

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/awaken-go/awaken"
)

// The tools in this file only accept their arguments: a page beside the conversation shows
// them, from the call or its result.

func showTools() []awaken.Tool {
	return []awaken.Tool{
		// Trips, for the agent travel.
		reading("add_trips", "Adds trips to the list.", takeTrips),
		reading("update_trips", "Changes trips of the list.", takeTrips),
		reading("delete_trips", "Removes trips from the list.", dropTrips),
		reading("select_trip", "Shows one trip of the list.", selectTrip),
		reading("search_for_places", "Finds places.", findPlaces),

		// A report, for the agent research.
		reading("search", "Finds resources about something.", findResources),
		reading("extract_resources", "Keeps resources for the report.", keepResources),
		reading("delete_resources", "Removes resources from the report.", keepResources),
		reading("set_research_question", "Sets the question of the report.", setQuestion),
		reading("write_report", "Replaces the text of the report.", writeReport),
	}
}

// taken returns the result of a tool that accepted n items.
func taken(n int) map[string]any { return map[string]any{"status": "ok", "count": n} }

type trips struct {
	Trips []json.RawMessage `json:"trips" jsonschema:"the trips"`
}

func takeTrips(_ context.Context, _ *awaken.ToolCall, in trips) (map[string]any, error) {
	return taken(len(in.Trips)), nil
}

type tripIDs struct {
	IDs     []string `json:"trip_ids,omitempty" jsonschema:"ids of the trips"`
	IDsToo  []string `json:"ids,omitempty" jsonschema:"the same as trip_ids"`
	OnlyOne string   `json:"id,omitempty" jsonschema:"or one of them"`
}

func dropTrips(_ context.Context, _ *awaken.ToolCall, in tripIDs) (map[string]any, error) {
	n := len(in.IDs) + len(in.IDsToo)
	if in.OnlyOne != "" {
		n++
	}
	return taken(n), nil
}

type tripID struct {
	ID string `json:"trip_id,omitempty" jsonschema:"id of the trip"`
	As string `json:"id,omitempty" jsonschema:"the same as trip_id"`
}

func selectTrip(_ context.Context, _ *awaken.ToolCall, in tripID) (map[string]any, error) {
	id, err := either("trip_id", in.ID, in.As)
	return map[string]any{"status": "ok", "selected": id}, err
}

type query struct {
	Query   string   `json:"query,omitempty" jsonschema:"what to look for"`
	Queries []string `json:"queries,omitempty" jsonschema:"or several things"`
}

func (q query) all() ([]string, error) {
	all := q.Queries
	if strings.TrimSpace(q.Query) != "" {
		all = append([]string{q.Query}, all...)
	}
	if len(all) == 0 {
		return nil, errors.New("query is empty")
	}
	return all, nil
}

type place struct {
	Name   string  `json:"name"`
	Rating float64 `json:"rating"`
}

func findPlaces(_ context.Context, _ *awaken.ToolCall, q query) (map[string][]place, error) {
	all, err := q.all()
	if err != nil {
		return nil, err
	}
	out := []place{}
	for _, s := range all {
		out = append(out, place{"The best of " + s, 4.8}, place{"Another of " + s, 4.2})
	}
	return map[string][]place{"places": out}, nil
}

type resource struct {
	URL   string `json:"url"`
	Title string `json:"title,omitempty"`
}

func findResources(_ context.Context, _ *awaken.ToolCall, q query) (map[string][]resource, error) {
	all, err := q.all()
	if err != nil {
		return nil, err
	}
	out := []resource{}
	for i, s := range all {
		out = append(out, resource{fmt.Sprintf("https://example.com/%d", i+1), "About " + s})
	}
	return map[string][]resource{"resources": out}, nil
}

type resources struct {
	Resources []json.RawMessage `json:"resources,omitempty" jsonschema:"the resources"`
	URLs      []string          `json:"urls,omitempty" jsonschema:"or only where they are"`
}

func keepResources(_ context.Context, _ *awaken.ToolCall, in resources) (map[string]any, error) {
	return taken(len(in.Resources) + len(in.URLs)), nil
}

type question struct {
	Question         string `json:"question,omitempty" jsonschema:"the question"`
	ResearchQuestion string `json:"research_question,omitempty" jsonschema:"the same as question"`
}

func setQuestion(_ context.Context, _ *awaken.ToolCall, in question) (map[string]any, error) {
	return map[string]any{"status": "ok", "question": cmp.Or(in.Question, in.ResearchQuestion)}, nil
}

type report struct {
	Report string `json:"report" jsonschema:"the text, in Markdown"`
}

func writeReport(_ context.Context, _ *awaken.ToolCall, in report) (map[string]any, error) {
	return map[string]any{"status": "ok", "characters": len([]rune(in.Report))}, nil
}
