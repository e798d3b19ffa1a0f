package web

import (
	"html"
	"strings"
)

// skipped elements have no text for readers.
var skipped = map[string]bool{"script": true, "style": true, "noscript": true, "template": true, "svg": true, "iframe": true, "title": true}

// blocks begin a new line.
var blocks = map[string]bool{"p": true, "div": true, "br": true, "li": true, "ul": true, "ol": true, "tr": true, "table": true, "h1": true, "h2": true, "h3": true, "h4": true, "h5": true, "h6": true,
	"section": true, "article": true, "header": true, "footer": true, "main": true, "nav": true, "pre": true, "blockquote": true, "dt": true, "dd": true, "hr": true, "figure": true, "form": true}

// textOf returns the title and the readable text of an HTML page: without tags, scripts, styles and comments, one
// line for each block. It takes time linear in the page, and accepts whatever a page contains.
func textOf(page string) (title, text string) {
	var body, head strings.Builder
	skip := "" // the element whose end is looked for
	for len(page) > 0 {
		at := strings.IndexByte(page, '<')
		if at < 0 {
			at = len(page)
		}
		switch {
		case skip == "title":
			head.WriteString(page[:at])
		case skip == "":
			body.WriteString(page[:at])
		}
		if page = page[at:]; page == "" {
			break
		}
		if strings.HasPrefix(page, "<!--") {
			page = after(page, "-->")
			continue
		}
		name, closing := tagName(page)
		if name == "" && !strings.HasPrefix(page, "<!") && !strings.HasPrefix(page, "<?") { // a lone <
			if skip == "" {
				body.WriteByte('<')
			}
			page = page[1:]
			continue
		}
		tag := page
		page = afterTag(page)
		empty := name == "svg" && strings.HasSuffix(tag[:len(tag)-len(page)], "/>")
		switch {
		case skip != "" && (!closing || name != skip):
		case skip != "":
			skip = ""
		case skipped[name] && !closing && !empty:
			skip = name
		case blocks[name]:
			body.WriteByte('\n')
		case name == "td" || name == "th":
			body.WriteByte('\t')
		}
	}
	return strings.Join(strings.Fields(html.UnescapeString(head.String())), " "), tidy(html.UnescapeString(body.String()))
}

// tagName returns the lower-case name of the tag that s begins with, or "".
func tagName(s string) (name string, closing bool) {
	s = s[1:]
	if closing = strings.HasPrefix(s, "/"); closing {
		s = s[1:]
	}
	n := 0
	for n < len(s) && n < 20 && (s[n]|0x20 >= 'a' && s[n]|0x20 <= 'z' || n > 0 && s[n] >= '0' && s[n] <= '9') {
		n++
	}
	return strings.ToLower(s[:n]), closing
}

// afterTag returns what follows the tag that s begins with. Quoted attributes may contain >.
func afterTag(s string) string {
	var quote byte
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			return s[i+1:]
		}
	}
	return ""
}

// after returns what follows mark in s, or "".
func after(s, mark string) string {
	_, rest, _ := strings.Cut(s, mark)
	return rest
}

// tidy joins white space within lines, and leaves out empty ones.
func tidy(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) > 0 {
			out.WriteString(strings.Join(words, " "))
			out.WriteByte('\n')
		}
	}
	return strings.TrimSuffix(out.String(), "\n")
}
