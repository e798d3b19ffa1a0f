package aisdk

import (
	"encoding/json"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/protocol"
)

// pageOnly is what a page keeps with a user message and no model sees. It is stored with the message,
// so that a reload returns the message as it was sent.
type pageOnly struct {
	Metadata json.RawMessage `json:"metadata,omitempty"`
	Parts    []pagePart      `json:"parts,omitempty"` // data parts, in order
}

// pagePart is a data part and its index among the message's parts.
type pagePart struct {
	At   int      `json:"at"`
	Part dataPart `json:"part"`
}

// keep stores p with a message, unless it is empty.
func (p *pageOnly) keep(m *llm.Message) error {
	if p.Metadata == nil && len(p.Parts) == 0 {
		return nil
	}
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	m.Metadata = &llm.Metadata{Client: data}
	return nil
}

// said adds what a page or another client said: the parts that the model sees, and those of the page in
// their places.
func (m *storedMessage) said(by *llm.Message) {
	var page pageOnly
	if by.Metadata != nil && json.Unmarshal(by.Metadata.Client, &page) != nil {
		page = pageOnly{} // of another client
	}
	if page.Metadata != nil {
		m.Metadata = page.Metadata
	}
	actions, hidden := 0, 0 // parts whose text for the model is not shown
	between := func(last bool) {
		for len(page.Parts) > 0 && (last || page.Parts[0].At <= len(m.Parts)+hidden) {
			if page.Parts[0].Part.Type == actionPart {
				actions++
			}
			m.Parts = append(m.Parts, page.Parts[0].Part)
			page.Parts = page.Parts[1:]
		}
	}
	for i := range by.Content {
		between(false)
		if actions > 0 && protocol.IsUIAction(by.Content[i].Text) {
			actions, hidden = actions-1, hidden+1
			continue
		}
		m.block(&by.Content[i], "")
	}
	between(true)
}
