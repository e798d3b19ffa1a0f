package aisdk_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/blob"
	"github.com/awaken-go/awaken/internal/testenv"
)

// However many clients ask for a history with large files, and however slowly they read it, the server's memory is bounded: those
// for which there is none get URLs.
func TestHistory_FilesOfManyClientsAreBounded(t *testing.T) {
	g := newRig(t)
	files := blob.Of(g.Box.Tenant("").Store)
	content := ""
	for i := range 2 {
		b, err := files.Put(t.Context(), "image/png", bytes.NewReader(bytes.Repeat([]byte{byte(i)}, 8<<20)), blob.User(""))
		if err != nil {
			t.Fatal(err)
		}
		content += fmt.Sprintf(`,{"type":"image","source":{"type":"blob","id":%q,"media_type":"image/png"}}`, b.ID)
	}
	if status, body := g.Ask(http.MethodPost, g.URL+"/v1/runs", `{"agent_id":"default","thread_id":"t","stream":false,"messages":[{"role":"user","content":[{"type":"text","text":"hi"}`+content+`]}]}`); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	inline := func() int {
		status, body := g.Ask(http.MethodGet, g.URL+"/v1/ai-sdk/threads/t/messages", "")
		n := strings.Count(body, "data:image/png;base64,")
		if status != 200 || n+strings.Count(body, `"/v1/blobs/`) != 2 {
			t.Fatalf("%d %.300s", status, body)
		}
		return n
	}
	if n := inline(); n != 2 {
		t.Errorf("a client alone gets %d files", n)
	}
	runtime.GC()
	var before, during runtime.MemStats
	runtime.ReadMemStats(&before)
	var clients []net.Conn
	for range testenv.Times(16, 40) { // they read no more than that there is an answer
		c, err := net.Dial("tcp", strings.TrimPrefix(g.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		clients = append(clients, c)
		fmt.Fprintf(c, "GET /v1/ai-sdk/threads/t/messages HTTP/1.1\r\nHost: %s\r\n\r\n", strings.TrimPrefix(g.URL, "http://"))
		if line, err := bufio.NewReaderSize(c, 16).ReadString('\n'); err != nil || !strings.Contains(line, "200") {
			t.Fatalf("%q, %v", line, err)
		}
	}
	if n := inline(); n != 0 {
		t.Errorf("when the memory is taken, a client gets %d files", n)
	}
	runtime.GC()
	runtime.ReadMemStats(&during)
	if grown := int64(during.HeapAlloc) - int64(before.HeapAlloc); grown > 250<<20 {
		t.Errorf("%d clients take %d MiB", len(clients), grown>>20)
	}
	for _, c := range clients {
		c.Close()
	}
	for inline() < 2 { // their requests end
		runtime.Gosched()
	}
}
