package anthropic

import (
	"encoding/base64"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/awaken-go/awaken/llm"
)

// takesMedia reports whether Claude can be shown a block: an image, a PDF or a text, by
// users and by tools.
func takesMedia(b *llm.Block, role llm.Role) bool {
	switch {
	case role == llm.Assistant:
		return false
	case b.Type == llm.ImageBlock:
		return imageBlock(b.Source) != nil
	}
	return b.Type == llm.DocumentBlock && documentBlock(b) != nil
}

// imageBlock returns an image, or nil if it is of a kind that Claude does not take.
func imageBlock(s *llm.Source) *sdk.ImageBlockParam {
	switch {
	case s == nil:
		return nil
	case s.Type == "url":
		return &sdk.ImageBlockParam{Source: sdk.ImageBlockParamSourceUnion{OfURL: &sdk.URLImageSourceParam{URL: s.URL}}}
	}
	switch s.MediaType {
	case "image/jpeg", "image/png", "image/gif", "image/webp":
		return &sdk.ImageBlockParam{Source: sdk.ImageBlockParamSourceUnion{OfBase64: &sdk.Base64ImageSourceParam{
			MediaType: sdk.Base64ImageSourceMediaType(s.MediaType), Data: s.Data}}}
	}
	return nil
}

// documentBlock returns a PDF or a text, or nil if it is neither.
func documentBlock(b *llm.Block) *sdk.DocumentBlockParam {
	s := b.Source
	if s == nil {
		return nil
	}
	doc := &sdk.DocumentBlockParam{}
	if strings.TrimSpace(b.Title) != "" {
		doc.Title = param.NewOpt(b.Title)
	}
	switch {
	case s.Type == "url" && isText(s.MediaType):
		return nil // only PDFs are fetched
	case s.Type == "url":
		doc.Source.OfURL = &sdk.URLPDFSourceParam{URL: s.URL}
	case s.MediaType == "application/pdf":
		doc.Source.OfBase64 = &sdk.Base64PDFSourceParam{Data: s.Data}
	case isText(s.MediaType):
		text, err := base64.StdEncoding.DecodeString(s.Data)
		if err != nil || strings.TrimSpace(string(text)) == "" {
			return nil
		}
		doc.Source.OfText = &sdk.PlainTextSourceParam{Data: strings.ToValidUTF8(string(text), "�")}
	default:
		return nil
	}
	return doc
}

func isText(mediaType string) bool {
	mediaType, _, _ = strings.Cut(mediaType, ";")
	switch mediaType {
	case "application/json", "application/xml", "application/yaml", "application/x-yaml", "application/javascript":
		return true
	}
	return strings.HasPrefix(mediaType, "text/") || strings.HasSuffix(mediaType, "+json") || strings.HasSuffix(mediaType, "+xml")
}
