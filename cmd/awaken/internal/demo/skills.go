package demo

import (
	"embed"
	"io/fs"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/plugin/skills"
)

//go:embed skills
var files embed.FS

// Skills returns the demo skills.
func Skills() []*skills.Skill {
	lib := library()
	var out []*skills.Skill
	for _, name := range lib.Set().Names() {
		out = append(out, lib.Set().Get(name))
	}
	return out
}

func library() *skills.Library {
	dir, err := fs.Sub(files, "skills")
	if err != nil {
		panic(err) // it is part of the program
	}
	lib, err := skills.Open(skills.FS(dir))
	if err != nil {
		panic(err)
	}
	return lib
}

// skillPlugins returns the plugins that offer the demo skills.
func skillPlugins() []awaken.Plugin {
	list, err := skills.New(skills.Options{Library: library()})
	if err != nil {
		panic(err) // it has no documents
	}
	return list
}
