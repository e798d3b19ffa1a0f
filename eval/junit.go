package eval

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

type testSuite struct {
	XMLName  xml.Name   `xml:"testsuite"`
	Name     string     `xml:"name,attr"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Cases    []testCase `xml:"testcase"`
}

type testCase struct {
	Name    string       `xml:"name,attr"`
	Class   string       `xml:"classname,attr"`
	Seconds string       `xml:"time,attr,omitempty"`
	Failure *testFailure `xml:"failure"`
}

type testFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// failureText says what failed, a line each, and what the agent answered.
func failureText(r *Report) string {
	var b strings.Builder
	for i := range r.Failures {
		b.WriteString(r.Failures[i].Explain() + "\n")
	}
	if r.JudgeReasoning != "" {
		b.WriteString("\nThe judge: " + r.JudgeReasoning + "\n")
	}
	if r.FinalText != "" {
		b.WriteString("\nThe answer: " + r.FinalText + "\n")
	}
	return b.String()
}

// WriteJUnit writes changes as a JUnit file, as build systems read it: a test for each case, which fails if its change is blocking.
func WriteJUnit(w io.Writer, name string, changes []Change, latest []Item) error {
	reports := make(map[place]*Report, len(latest))
	for i := range latest {
		reports[latest[i].place()] = latest[i].Report
	}
	suite := testSuite{Name: name, Tests: len(changes)}
	for i := range changes {
		c := &changes[i]
		of := Item{FixtureID: c.FixtureID, Cell: c.Cell, SampleIndex: c.SampleIndex}
		test := testCase{Name: c.Title(), Class: name}
		report := reports[of.place()]
		if report != nil {
			test.Seconds = fmt.Sprintf("%.3f", float64(report.SessionDurationMS)/1000)
		}
		if c.Blocking() {
			suite.Failures++
			test.Failure = &testFailure{Message: c.Explain()}
			if report != nil {
				test.Failure.Text = failureText(report)
			}
		}
		suite.Cases = append(suite.Cases, test)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(suite); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
