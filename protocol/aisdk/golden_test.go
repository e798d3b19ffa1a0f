package aisdk_test

import (
	"bytes"
	"testing"

	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/aisdk"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// The bytes that a client gets for each golden run.
func TestGolden(t *testing.T) {
	protocoltest.Golden(t, ".sse", func(t *testing.T, r *protocoltest.GoldenRun) []byte {
		var got bytes.Buffer
		for i, s := range r.Segments {
			if i > 0 {
				got.WriteString("---\n\n")
			}
			got.Write(s.Encode(t, &aisdk.Encoder{}, protocol.Position{}))
		}
		return got.Bytes()
	})
}
