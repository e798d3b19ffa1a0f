package skills

import (
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/check"
	"github.com/awaken-go/awaken/internal/schema"
)

// The names of the plugins and of their section.
const (
	// DiscoveryID is the plugin that offers skills: the catalogue, the tools, and what active
	// skills allow.
	DiscoveryID = "skills-discovery"
	// InstructionsID is the plugin that shows the model the instructions of active skills.
	InstructionsID = "skills-active-instructions"
	// SectionName is the section of an agent that has skills.
	SectionName = "skills"
)

// Approval decides how a call of a skill's script is handled, if the agent has no permission rules.
type Approval string

// The approvals of scripts.
const (
	ScriptsOff   Approval = "off"   // agents have no tool for scripts
	ScriptsAsk   Approval = "ask"   // a person decides about every call
	ScriptsAllow Approval = "allow" // calls need no decision
)

// Config is the section "skills".
type Config struct {
	Allowlist []string `json:"allowlist,omitzero" jsonschema:"names of the skills that the agent may use; missing means all, an empty list none"`
	IDs       []string `json:"ids,omitzero" jsonschema:"the same as allowlist"`

	MaxEntries int `json:"max_entries" jsonschema:"maximum number of skills in the catalogue that the model sees"`
	MaxTokens  int `json:"max_tokens" jsonschema:"maximum size of the catalogue, in tokens of four bytes"`

	Grant   bool              `json:"grant" jsonschema:"calls of the tools that an active skill allows need no approval, unless a permission rule matches them"`
	Tools   map[string]string `json:"tools,omitempty" jsonschema:"tools of the agent by the names that skills written for other agents call them, such as Read"`
	Models  map[string]string `json:"models,omitempty" jsonschema:"upstream models of the agent's provider by the names that skills call them, such as haiku; empty keeps the agent's model"`
	Scripts Approval          `json:"scripts" jsonschema:"scripts of skills: off, ask a person before each call (unless the agent has permission rules), or allow"`
}

// DescribeSchema adds constraints that Go types cannot express.
func (*Config) DescribeSchema(s *schema.Node) {
	s.Property("scripts").Enum(string(ScriptsOff), string(ScriptsAsk), string(ScriptsAllow))
	s.Property("max_entries").Min(0)
	s.Property("max_tokens").Min(0)
}

// Validate reports every mistake in the section.
func (c *Config) Validate() error {
	var bad check.Problems
	bad.When(c.Allowlist != nil && c.IDs != nil, "allowlist and ids are both given, want one of them")
	for i, name := range append(c.Allowlist, c.IDs...) {
		_, ok := normalName(name)
		bad.When(!ok, "allowlist[%d] is %q, want the name of a skill", i, name)
	}
	bad.NotNegative("max_entries", c.MaxEntries)
	bad.NotNegative("max_tokens", c.MaxTokens)
	bad.OneOf("scripts", string(c.Scripts), string(ScriptsOff), string(ScriptsAsk), string(ScriptsAllow))
	for name, tool := range c.Tools {
		bad.When(strings.TrimSpace(name) == "" || strings.TrimSpace(tool) == "", "tools maps %q to %q, want a name and a tool", name, tool)
	}
	return bad.Err()
}

// Section is the section of the plugins.
var Section = awaken.NewSection(SectionName, Config{MaxEntries: 32, MaxTokens: 4096, Grant: true, Scripts: ScriptsAsk})

func init() {
	Section.Info = awaken.SectionInfo{DisplayName: "Skills", Category: "context",
		Description: "Which skills the agent may use, and what they may do."}
}

// allows reports whether the agent may use the skill with that name.
func (c *Config) allows(name string) bool {
	list := c.Allowlist
	if list == nil {
		list = c.IDs
	}
	if list == nil {
		return true
	}
	for _, n := range list {
		if n, _ = normalName(n); n == name {
			return true
		}
	}
	return false
}
