package basics

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/awaken-go/awaken"
)

type clockArgs struct {
	Zone string `json:"time_zone,omitempty" jsonschema:"IANA name of a time zone, such as Europe/Berlin"`
}

type clockResult struct {
	Time    string `json:"time"` // RFC 3339
	Weekday string `json:"weekday"`
	Zone    string `json:"time_zone"`
	Unix    int64  `json:"unix"`
}

func newTimeNow(cfg Config) awaken.Tool {
	return awaken.NewTool(awaken.ToolSpec{
		ID:          TimeNow,
		Egress:      awaken.Egress{None: true},
		Effect:      awaken.ReadOnly,
		Description: "Returns the current date and time.",
	},
		func(_ context.Context, call *awaken.ToolCall, in clockArgs) (clockResult, error) {
			name := cmp.Or(in.Zone, cfg.TimeZone)
			at, err := zone(name)
			if err != nil {
				return clockResult{}, err
			}
			now := time.Now
			if call.Host != nil {
				now = call.Host.Now
			}
			t := now().In(at)
			return clockResult{Time: t.Format(time.RFC3339), Weekday: t.Weekday().String(), Zone: name, Unix: t.Unix()}, nil
		})
}

// zone returns a time zone. "Local" is refused: where the process runs is none of a model's business.
func zone(name string) (*time.Location, error) {
	if name == "" || name == "Local" {
		return nil, fmt.Errorf("time zone is %q, want an IANA name such as UTC or Europe/Berlin", name)
	}
	at, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("time zone is %q, want an IANA name such as UTC or Europe/Berlin", name)
	}
	return at, nil
}
