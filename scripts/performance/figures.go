package main

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"text/template"
)

// results has what benchmarks and tests reported: values by package, name and unit, such as "server W6d/sqlite/threads=new/clients=64
// runs/floor". Tests report attributes: "store/sqlite TestRequest_BytesOfARun/on_new_threads log-bytes".
type results map[string]float64

var (
	packageLine   = regexp.MustCompile(`^pkg: (\S+)$`)
	benchmarkLine = regexp.MustCompile(`^Benchmark(\S+?)(?:-[0-9]+)?\s+[0-9]+\s+(.*\S)\s*$`)
	attributeLine = regexp.MustCompile(`^=== ATTR\s+(\S+) (\S+) (\S+)$`)
	resultLine    = regexp.MustCompile(`^(?:ok|FAIL)\s+(\S+)\s`)
)

// parse reads the output of go test.
func parse(output []byte) results {
	const module = "github.com/awaken-go/awaken/"
	out, folder := results{}, ""
	attributes := map[string]float64{} // of tests whose package comes below
	for lines := bufio.NewScanner(bytes.NewReader(output)); lines.Scan(); {
		line := lines.Text()
		if m := packageLine.FindStringSubmatch(line); m != nil {
			folder = strings.TrimPrefix(m[1], module)
		} else if m := resultLine.FindStringSubmatch(line); m != nil {
			for key, value := range attributes {
				out[strings.TrimPrefix(m[1], module)+" "+key] = value
			}
			clear(attributes)
		} else if m := attributeLine.FindStringSubmatch(line); m != nil {
			if value, err := strconv.ParseFloat(m[3], 64); err == nil {
				attributes[m[1]+" "+m[2]] = value
			}
		} else if m := benchmarkLine.FindStringSubmatch(line); m != nil {
			fields := strings.Fields(m[2])
			for i := 0; i+1 < len(fields); i += 2 {
				if value, err := strconv.ParseFloat(fields[i], 64); err == nil {
					out[folder+" "+m[1]+" "+fields[i+1]] = value
				}
			}
		}
	}
	return out
}

// figure is one of the table.
type figure struct {
	value, low, high float64
	measured, ratio  bool
	spread           bool // whether low and high are known
}

func (f figure) String() string {
	switch {
	case !f.measured:
		return "–"
	case f.ratio && f.spread:
		return fmt.Sprintf("%sx [%s–%s]", short(f.value), short(f.low), short(f.high))
	case f.ratio:
		return short(f.value) + "x"
	}
	return short(f.value)
}

// short prints two digits, or all of a number from 100 on, with commas between thousands.
func short(v float64) string {
	if v >= 100 {
		digits := strconv.FormatFloat(math.Round(v), 'f', 0, 64)
		for i := len(digits) - 3; i > 0; i -= 3 {
			digits = digits[:i] + "," + digits[i:]
		}
		return digits
	}
	if v == 0 {
		return "0"
	}
	decimals := max(0, 1-int(math.Floor(math.Log10(math.Abs(v)))))
	return strconv.FormatFloat(v, 'f', min(decimals, 3), 64)
}

// render executes a template and returns the figures that were not measured, too. The functions of templates are:
//
//	ratio "server" "W6d/…" "runs/floor"   a median, with x, and the lowest and the highest in brackets if they were reported
//	value "server" "W6d/…" "runs/s"       a number
//	times 0.001 (value …)                 the number, multiplied
//	least 0.5 (ratio …)                   bold if it is at least that, which is the goal
//	most 1.5 (ratio …)                    bold if it is at most that
func render(text string, r results) (out string, missing []string, err error) {
	look := func(ratio bool) func(folder, name, unit string) figure {
		return func(folder, name, unit string) figure {
			key := folder + " " + name + " " + unit
			f := figure{ratio: ratio}
			f.value, f.measured = r[key]
			if !f.measured {
				missing = append(missing, key)
			}
			var also bool
			f.low, f.spread = r[key+"-min"]
			f.high, also = r[key+"-max"]
			f.spread = f.spread && also
			return f
		}
	}
	goal := func(f figure, met bool) string {
		if s := f.String(); f.measured && met {
			value, rest, _ := strings.Cut(s, " ")
			return strings.TrimSpace("**" + value + "** " + rest)
		}
		return f.String()
	}
	t, err := template.New("table").Option("missingkey=error").Funcs(template.FuncMap{
		"ratio": look(true),
		"value": look(false),
		"times": func(by float64, f figure) figure {
			f.value, f.low, f.high = by*f.value, by*f.low, by*f.high
			return f
		},
		"least": func(bound float64, f figure) string { return goal(f, f.value >= bound) },
		"most":  func(bound float64, f figure) string { return goal(f, f.value <= bound) },
	}).Parse(text)
	if err != nil {
		return "", nil, err
	}
	var buf strings.Builder
	err = t.Execute(&buf, nil)
	return buf.String(), missing, err
}
