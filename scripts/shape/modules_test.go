package main

import (
	"slices"
	"testing"

	"github.com/awaken-go/awaken/internal/testenv"
)

func TestModules(t *testing.T) {
	root := testenv.ModuleRoot(t)
	touchSources(t, root)
	pkgs, err := goList(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range checkModules(pkgs) {
		t.Error(v)
	}
}

func TestModulesFindViolations(t *testing.T) {
	product := pkg{ImportPath: module + "/bus/nats", Deps: list("github.com/nats-io/nats.go"), XTestImports: list("testing", "github.com/nats-io/nats-server/v2/server")}
	client := pkg{ImportPath: "github.com/nats-io/nats.go", Module: &struct{ Path string }{"github.com/nats-io/nats.go"}}
	tests := pkg{ImportPath: module + "/mailbox/mailboxtest", Imports: append(list("github.com/nats-io/nats.go/encoders", "github.com/luikyv/go-oidc/pkg/goidc"), testModules[1:]...)}
	want := []violation{
		{moduleRule, "./bus/nats (test)", "imports github.com/nats-io/nats-server/v2/server"},
		{moduleRule, "./mailbox/mailboxtest (test)", "imports github.com/luikyv/go-oidc/pkg/goidc"},
		{moduleRule, testModules[0], "is listed, and no test imports it"},
	}
	if got := checkModules([]pkg{product, client, tests}); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
