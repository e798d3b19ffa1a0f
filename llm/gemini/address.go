package gemini

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
)

// address is the base URL and the path prefix of the models.
type address struct {
	base   string
	path   string // the API version; for Vertex AI also project and location
	vertex bool
}

func (c *Config) address(who identity) (address, error) {
	base := baseURL(c.BaseURL)
	switch {
	case !c.Vertex:
		return address{base: cmp.Or(base, os.Getenv("GOOGLE_GEMINI_BASE_URL"), "https://generativelanguage.googleapis.com"), path: geminiVersion + "/"}, nil
	case who.key != "": // express mode has no project
		return address{base: cmp.Or(base, os.Getenv("GOOGLE_VERTEX_BASE_URL"), regionURL("global")), path: vertexVersion + "/", vertex: true}, nil
	}
	project, location := cmp.Or(c.Project, os.Getenv("GOOGLE_CLOUD_PROJECT")), cmp.Or(c.Location, os.Getenv("GOOGLE_CLOUD_LOCATION"), "global")
	if project == "" && who.account != nil {
		project = who.account.project
	}
	switch {
	case project == "":
		return address{}, errors.New("gemini: no project for Vertex AI: configure one, or set GOOGLE_CLOUD_PROJECT")
	case !region.MatchString(location): // it becomes part of the host that receives the token
		return address{}, fmt.Errorf("gemini: location is %q, want a location such as global or europe-west4", location)
	}
	return address{
		base:   cmp.Or(base, os.Getenv("GOOGLE_VERTEX_BASE_URL"), regionURL(location)),
		path:   fmt.Sprintf("%s/projects/%s/locations/%s/", vertexVersion, url.PathEscape(project), location),
		vertex: true,
	}, nil
}

var region = regexp.MustCompile(`^[a-z0-9-]+$`)

// regionURL returns the base URL of Vertex AI in a location.
func regionURL(location string) string {
	switch location {
	case "global":
		return "https://aiplatform.googleapis.com"
	case "us", "eu":
		return fmt.Sprintf("https://aiplatform.%s.rep.googleapis.com", location)
	}
	return fmt.Sprintf("https://%s-aiplatform.googleapis.com", location)
}

// baseURL returns a configured base URL without the API version, which is added later.
func baseURL(s string) string {
	s = strings.TrimRight(s, "/")
	for _, version := range []string{"/v1beta1", "/v1beta", "/v1"} {
		s = strings.TrimSuffix(s, version)
	}
	return s
}

// model returns the escaped path of a model. The name may itself be a path.
func (a address) model(name string) (string, error) {
	if name == "" {
		return "", errors.New("the model name is empty")
	}
	if strings.ContainsAny(name, "?&") || strings.Contains(name, "..") {
		return "", fmt.Errorf(`model name is %q, want one without "?", "&" and ".."`, name)
	}
	has := func(prefixes ...string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
	}
	path := a.path
	switch publisher, rest, ok := strings.Cut(name, "/"); {
	case a.vertex && has("projects/"):
		path = vertexVersion + "/"
	case a.vertex && has("publishers/", "models/"), !a.vertex && has("models/", "tunedModels/"):
	case a.vertex && ok:
		name = "publishers/" + publisher + "/models/" + rest
	case a.vertex:
		name = "publishers/google/models/" + name
	default:
		name = "models/" + name
	}
	return path + (&url.URL{Path: name}).EscapedPath(), nil
}
