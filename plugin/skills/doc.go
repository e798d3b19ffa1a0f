// Package skills lets agents use skills: instructions for special tasks, with files, that an agent
// loads when a task needs them. A skill is a folder with a SKILL.md, in the open format that many
// agents share:
//
//	skills/
//	  release-notes/
//	    SKILL.md             frontmatter (name, description, …), then the instructions
//	    references/style.md  what the model may read
//	    scripts/changes.py   what it may run
//
// A program opens the folders and gives the plugins to its runtime:
//
//	lib, err := skills.Open(skills.Folder("skills"), skills.FS(embedded))
//	plugins, err := skills.New(skills.Options{Library: lib})
//	rt, err := engine.New(engine.Config{Plugins: plugins, …})
//
// An agent lists both plugins, "skills-discovery" and "skills-active-instructions".
//
// A source (a folder, a file system, documents) is read into a [Set] of immutable skills, with their
// files; from then on nothing is read from disk, so nothing can be swapped between a check and its
// use. At the start of each step a run takes in the library's current set, so a step sees one set
// and a running run sees a changed skill from its next step on. The model sees a catalogue of names
// and descriptions. It loads a skill with the tool skill: the rendered instructions, with the skill's
// digest, become state of the run, and follow the conversation in every request until the run ends
// or the skill is deactivated. So a run that is resumed has the text that it had, in any process;
// the files of a skill that has changed meanwhile are refused.
//
// While a skill with allowed-tools is active, the run may use only these tools (and those of
// skills), and their calls need no approval, unless a permission rule says otherwise. A skill with
// "context: fork" becomes a child run of the same agent, in which the skill is active from its first
// message to its end. A person asks for a skill with a message that begins with /name.
//
// Scripts run without a shell, in a copy of the skill's folder that is removed afterwards, with a
// short environment, within limits, and confined by the kernel: they reach neither other files nor
// the network nor other processes. See [Runner].
package skills
