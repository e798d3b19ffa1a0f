package schedule

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Cron is a parsed cron expression of five fields: minute, hour, day of the month, month and day of the week.
//
// A field is *, a number, a name (jan, mon), a range 1-5, any of these with a step /2, or a list of them. Sunday is 0 or 7. If both day
// fields are restricted, a day matches if either does. @hourly, @daily, @weekly, @monthly and @yearly are accepted as well.
//
// An expression whose hour is * follows the wall clock: it fires again in an hour that is repeated when daylight saving time ends, and does
// not fire in a skipped hour. Any other expression fires once for each matching time of a day: at the first occurrence of a repeated time,
// and at the moment of the change for a skipped time.
type Cron struct {
	minutes  uint64
	hours    uint64
	days     uint64 // of the month
	months   uint64
	weekdays uint64

	everyHour bool // the hour is *
	anyDay    bool // the day of the month is *
	anyWeek   bool // the day of the week is *
}

// field describes one field of an expression.
type field struct {
	name     string
	min, max int
	names    []string // of min and those that follow
}

var fields = [5]field{
	{name: "minute", max: 59},
	{name: "hour", max: 23},
	{name: "day of the month", min: 1, max: 31},
	{name: "month", min: 1, max: 12, names: []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{name: "day of the week", max: 7, names: []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

var macros = map[string]string{
	"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0", "@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
}

// maxExpression is the maximum length of an expression, in bytes.
const maxExpression = 200

// ParseCron parses an expression.
func ParseCron(text string) (*Cron, error) {
	if len(text) > maxExpression {
		return nil, fmt.Errorf("the expression has %d bytes; want at most %d", len(text), maxExpression)
	}
	expr := strings.ToLower(strings.TrimSpace(text))
	if strings.HasPrefix(expr, "@") {
		full, ok := macros[expr]
		if !ok {
			return nil, fmt.Errorf("%q is unknown; available: @hourly, @daily, @weekly, @monthly, @yearly", text)
		}
		expr = full
	}
	parts := strings.Fields(expr)
	if len(parts) != len(fields) {
		return nil, fmt.Errorf("%q has %d fields; want 5: minute, hour, day of the month, month, day of the week", text, len(parts))
	}
	var sets [len(fields)]uint64
	for i, part := range parts {
		set, err := fields[i].parse(part)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", fields[i].name, err)
		}
		sets[i] = set
	}
	c := &Cron{minutes: sets[0], hours: sets[1], days: sets[2], months: sets[3], weekdays: sets[4]&^(1<<7) | sets[4]>>7,
		everyHour: parts[1] == "*", anyDay: strings.HasPrefix(parts[2], "*"), anyWeek: strings.HasPrefix(parts[4], "*")}
	if c.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return nil, fmt.Errorf("%q never fires: no such day exists", text)
	}
	return c, nil
}

// parse parses a field into the set of the numbers that match.
func (f *field) parse(text string) (set uint64, err error) {
	for item := range strings.SplitSeq(text, ",") {
		span, step, stepped := strings.Cut(item, "/")
		low, high := f.min, f.max
		if span != "*" {
			first, last, ranged := strings.Cut(span, "-")
			if low, err = f.number(first); err != nil {
				return 0, err
			}
			if !stepped {
				high = low
			}
			if ranged {
				if high, err = f.number(last); err != nil {
					return 0, err
				}
			}
			if high < low {
				return 0, fmt.Errorf("%q ends before it begins", span)
			}
		} else if f.names != nil && f.max == 7 {
			high = 6 // Sunday once
		}
		by := 1
		if stepped {
			if by, err = strconv.Atoi(step); err != nil || by < 1 || by > f.max {
				return 0, fmt.Errorf("the step %q is not a number from 1 to %d", step, f.max)
			}
		}
		for n := low; n <= high; n += by {
			set |= 1 << n
		}
	}
	return set, nil
}

// number parses a number or a name.
func (f *field) number(text string) (int, error) {
	if i := slices.Index(f.names, text); i >= 0 {
		return f.min + i, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < f.min || n > f.max || text[0] == '+' || text[0] == '-' {
		names := ""
		if f.names != nil {
			names = fmt.Sprintf(", or a name such as %s", f.names[1])
		}
		return 0, fmt.Errorf("%q is not a number from %d to %d%s", text, f.min, f.max, names)
	}
	return n, nil
}

// matchesDay reports whether a date matches.
func (c *Cron) matchesDay(y int, m time.Month, d int) bool {
	if c.months&(1<<m) == 0 {
		return false
	}
	weekday := time.Date(y, m, d, 12, 0, 0, 0, time.UTC).Weekday()
	day, week := c.days&(1<<d) != 0, c.weekdays&(1<<weekday) != 0
	if c.anyDay || c.anyWeek {
		return day && week
	}
	return day || week
}

// maxDays is how many days Next looks ahead: a 29th of February may be eight years away. A 29th of February on a given weekday cannot be
// expressed, because a day matches if either day field does.
const maxDays = 366 * 9

// lastYear is the last year that RFC 3339 can represent.
const lastYear = 9999

// Next returns the first matching time after after, in the time zone of after. It returns the zero time if there is none up to the year
// 9999.
func (c *Cron) Next(after time.Time) time.Time {
	loc := after.Location()
	y, m, d := after.Date()
	for range maxDays {
		if y > lastYear {
			break
		}
		if c.matchesDay(y, m, d) {
			if t := c.onDay(after, y, m, d, loc); !t.IsZero() {
				return t
			}
		}
		y, m, d = time.Date(y, m, d+1, 12, 0, 0, 0, time.UTC).Date()
	}
	return time.Time{}
}

// onDay returns the first time of a day that is after after, or the zero time.
func (c *Cron) onDay(after time.Time, y int, m time.Month, d int, loc *time.Location) time.Time {
	if c.everyHour {
		return c.followed(after, y, m, d, loc)
	}
	for hours := c.hours; hours != 0; hours &= hours - 1 {
		h := bits.TrailingZeros64(hours)
		if h < 23 && !at(y, m, d, h+1, 0, loc).After(after) { // all of this hour is over
			continue
		}
		for minutes := c.minutes; minutes != 0; minutes &= minutes - 1 {
			if t := at(y, m, d, h, bits.TrailingZeros64(minutes), loc); t.After(after) {
				return t
			}
		}
	}
	return time.Time{}
}

// followed is onDay for an expression that follows the clock: it looks at every minute of the day that there is.
func (c *Cron) followed(after time.Time, y int, m time.Month, d int, loc *time.Location) time.Time {
	t := at(y, m, d, 0, 0, loc)
	if !t.After(after) {
		t = after.Truncate(time.Minute).Add(time.Minute)
	}
	for ; ; t = t.Add(time.Minute) {
		switch ty, tm, td := t.Date(); {
		case ty != y || tm != m || td != d:
			return time.Time{}
		case c.minutes&(1<<t.Minute()) != 0:
			return t
		}
	}
}

// at returns the first moment at which the clock shows a time or, if it leaves it out, the moment when it does.
func at(y int, m time.Month, d, hour, minute int, loc *time.Location) time.Time {
	guess := time.Date(y, m, d, hour, minute, 0, 0, loc)
	shown := time.Date(y, m, d, hour, minute, 0, 0, time.UTC).Unix() // what the clock shows, as if it were UTC
	start, end := guess.ZoneBounds()
	var first time.Time
	for _, near := range []time.Time{start.Add(-time.Second), guess, end} {
		if near.IsZero() || near.Year() < 1 { // the zone has no such bound
			continue
		}
		_, offset := near.In(loc).Zone()
		t := time.Unix(shown-int64(offset), 0).In(loc)
		if _, is := t.Zone(); is == offset && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	if !first.IsZero() {
		return first
	}
	for _, t := range []time.Time{start, end} { // the clock jumps over the time at one of them
		if t.IsZero() {
			continue
		}
		_, before := t.Add(-time.Second).In(loc).Zone()
		_, since := t.In(loc).Zone()
		if t.Unix()+int64(before) <= shown && shown < t.Unix()+int64(since) {
			return t.In(loc)
		}
	}
	return guess
}
