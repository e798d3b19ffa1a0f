package schedule

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the tests need no files of the machine
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func parse(t testing.TB, expr string) *Cron {
	t.Helper()
	c, err := ParseCron(expr)
	if err != nil {
		t.Fatalf("%q: %v", expr, err)
	}
	return c
}

func TestNext_FollowsTheExpression(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ expr, after, want string }{
		{"* * * * *", "2026-11-17T01:02:03Z", "2026-11-17T01:03:00Z"},
		{"*/15 * * * *", "2026-11-17T01:45:00Z", "2026-11-17T02:00:00Z"},
		{"5/20 * * * *", "2026-11-17T01:26:00Z", "2026-11-17T01:45:00Z"},
		{"0 9 * * mon-fri", "2026-11-13T09:00:00Z", "2026-11-16T09:00:00Z"}, // from Friday to Monday
		{"30 4 1,15 * *", "2026-11-01T05:00:00Z", "2026-11-15T04:30:00Z"},
		{"0 0 13 * fri", "2026-11-12T00:00:00Z", "2026-11-13T00:00:00Z"},
		{"0 0 13 * fri", "2026-11-13T00:00:00Z", "2026-11-20T00:00:00Z"}, // a Friday that is no 13th
		{"0 0 */2 * fri", "2026-11-13T00:00:00Z", "2026-11-27T00:00:00Z"},
		{"0 0 29 feb *", "2026-11-17T00:00:00Z", "2028-02-29T00:00:00Z"},
		{"0 0 29 2 *", "2096-02-29T00:00:00Z", "2104-02-29T00:00:00Z"},
		{"0 12 * * 7", "2026-11-17T00:00:00Z", "2026-11-22T12:00:00Z"},
		{"0 12 * * 0", "2026-11-17T00:00:00Z", "2026-11-22T12:00:00Z"},
		{"0 12 * * fri-7", "2026-11-17T00:00:00Z", "2026-11-20T12:00:00Z"},
		{"59 23 31 12 *", "2026-12-31T23:59:00Z", "2027-12-31T23:59:00Z"},
		{"@weekly", "2026-11-17T00:00:00Z", "2026-11-22T00:00:00Z"},
		{"@HOURLY", "2026-11-17T00:00:01Z", "2026-11-17T01:00:00Z"},
	} {
		after, err := time.Parse(time.RFC3339, tt.after)
		if err != nil {
			t.Fatal(err)
		}
		if got := parse(t, tt.expr).Next(after).Format(time.RFC3339); got != tt.want {
			t.Errorf("%q after %s: %s, want %s", tt.expr, tt.after, got, tt.want)
		}
	}
}

// times returns the times of an expression from one time to another, as UTC.
func times(c *Cron, from, to time.Time) (out []string) {
	for t := c.Next(from); !t.IsZero() && !t.After(to); t = c.Next(t) {
		out = append(out, t.UTC().Format("02T15:04"))
	}
	return out
}

func TestNext_WhenTheClockIsChanged(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, zone, expr string
		from             time.Time
		hours            int
		want             string
	}{
		// Berlin leaves out 02:00 to 03:00 on March 28, 2027 (01:00 UTC), and repeats it on October 31 (01:00 UTC).
		{"left out", "Europe/Berlin", "30 2 * * *", time.Date(2027, 3, 27, 0, 0, 0, 0, time.UTC), 60, "27T01:30 28T01:00 29T00:30"},
		{"left out, twice the same moment", "Europe/Berlin", "0,30 2,3 * * *", time.Date(2027, 3, 27, 22, 0, 0, 0, time.UTC), 12, "28T01:00 28T01:30"},
		{"left out, every hour", "Europe/Berlin", "30 * * * *", time.Date(2027, 3, 27, 23, 0, 0, 0, time.UTC), 4, "27T23:30 28T00:30 28T01:30 28T02:30"},
		{"repeated", "Europe/Berlin", "30 2 * * *", time.Date(2027, 10, 30, 12, 0, 0, 0, time.UTC), 48, "31T00:30 01T01:30"},
		{"repeated, every hour", "Europe/Berlin", "30 * * * *", time.Date(2027, 10, 30, 23, 0, 0, 0, time.UTC), 4, "30T23:30 31T00:30 31T01:30 31T02:30"},
		{"repeated, all hours named", "Europe/Berlin", "30 0-23 * * *", time.Date(2027, 10, 30, 23, 0, 0, 0, time.UTC), 4, "30T23:30 31T00:30 31T02:30"},
		// Santiago leaves out midnight: September 5, 2027 begins at 01:00 (04:00 UTC).
		{"midnight is left out", "America/Santiago", "0 0 * * *", time.Date(2027, 9, 4, 0, 0, 0, 0, time.UTC), 54, "04T04:00 05T04:00 06T03:00"},
		{"midnight is left out, every hour", "America/Santiago", "0 * 5 9 *", time.Date(2027, 9, 4, 12, 0, 0, 0, time.UTC), 18, "05T04:00 05T05:00 05T06:00"},
		// Lord Howe changes by half an hour: on April 4, 2027, 01:30 to 02:00 is repeated (15:00 UTC on the 3rd).
		{"half an hour repeated", "Australia/Lord_Howe", "45 1 * * *", time.Date(2027, 4, 3, 0, 0, 0, 0, time.UTC), 30, "03T14:45"},
		{"half an hour repeated, every hour", "Australia/Lord_Howe", "45 * * * *", time.Date(2027, 4, 3, 14, 0, 0, 0, time.UTC), 2, "03T14:45 03T15:15"},
		// Samoa left out December 30, 2011.
		{"a day is left out", "Pacific/Apia", "0 12 * * *", time.Date(2011, 12, 29, 0, 0, 0, 0, time.UTC), 60, "29T22:00 30T10:00 30T22:00"},
	} {
		from := tt.from.In(zone(t, tt.zone))
		got := strings.Join(times(parse(t, tt.expr), from, from.Add(time.Duration(tt.hours)*time.Hour)), " ")
		if got != tt.want {
			t.Errorf("%s: %q in %s: %s, want %s", tt.name, tt.expr, tt.zone, got, tt.want)
		}
	}
}

func TestParseCron_SaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]string{
		"":                       "has 0 fields; want 5",
		"* * * *":                "has 4 fields; want 5",
		"* * * * * *":            "has 6 fields; want 5",
		"60 * * * *":             `minute: "60" is not a number from 0 to 59`,
		"* 24 * * *":             `hour: "24" is not a number from 0 to 23`,
		"* * 0 * *":              `day of the month: "0" is not a number from 1 to 31`,
		"* * * 13 *":             `month: "13" is not a number from 1 to 12, or a name such as feb`,
		"* * * * mo":             `day of the week: "mo" is not a number from 0 to 7, or a name such as mon`,
		"5-1 * * * *":            `minute: "5-1" ends before it begins`,
		"*/0 * * * *":            `minute: the step "0" is not a number from 1 to 59`,
		"*/x * * * *":            `minute: the step "x"`,
		"1,,2 * * * *":           `minute: "" is not a number`,
		"+5 * * * *":             `minute: "+5" is not a number`,
		"0 0 30 feb *":           "never fires",
		"0 0 31 4,6,9,11 *":      "never fires",
		"@never":                 "available: @hourly",
		strings.Repeat("*", 300): "at most 200",
	} {
		if _, err := ParseCron(expr); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q in it", expr, err, want)
		}
	}
}

// FuzzCron tests that times are after each other, whole minutes, and shown by the clock unless it leaves them out.
func FuzzCron(f *testing.F) {
	for _, expr := range []string{"* * * * *", "*/7 3 * * 1-5", "0 0 29 2 *", "30 2 * * *", "@daily", "59 23 31 12 7", "1-59/3 0,12 1-7 jan-mar mon"} {
		f.Add(expr, int64(1_800_000_000), uint8(0))
		f.Add(expr, int64(1_806_000_000), uint8(3))
	}
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "America/Santiago", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Kolkata", "Africa/Casablanca"}
	f.Fuzz(func(t *testing.T, expr string, unix int64, z uint8) {
		c, err := ParseCron(expr)
		if err != nil {
			return
		}
		after := time.Unix(max(0, min(unix, 4_000_000_000)), 0).In(zone(t, zones[int(z)%len(zones)]))
		for range 5 {
			next := c.Next(after)
			if next.IsZero() {
				t.Fatalf("%q never fires after %s", expr, after)
			}
			if !next.After(after) || next.Second() != 0 {
				t.Fatalf("%q: %s follows %s", expr, next, after)
			}
			if c.minutes&(1<<next.Minute()) == 0 || c.hours&(1<<next.Hour()) == 0 {
				_, before := next.Add(-time.Minute).Zone()
				if _, now := next.Zone(); before == now {
					t.Fatalf("%q fires at %s, when the clock is not changed", expr, next)
				}
			}
			after = next
		}
	})
}
