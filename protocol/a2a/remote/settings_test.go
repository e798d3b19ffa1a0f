package remote

import (
	"reflect"
	"testing"
)

// Every option of an endpoint has a test that it does what it says.
func TestSettings_EveryFieldIsTested(t *testing.T) {
	tested := map[string]string{
		"poll_interval_ms":   "TestPolling_FollowsATaskWhoseServerDoesNotStream",
		"history_length":     "TestOptions_DoWhatTheySay",
		"return_immediately": "TestOptions_DoWhatTheySay",
		"streaming":          "TestOptions_DoWhatTheySay",
		"binding":            "TestRoot_StreamsAndReusesItsContext",
		"context":            "TestDelegate_SharesAContextIfTheEndpointSaysSo",
		"headers":            "TestAuth_EverySchemeReachesTheServer",
		"card_timeout_ms":    "TestCard_HasALimitOfTime",
		"a2a_server_id":      "config.TestA2AServers_HoldWhatTheirAgentsLeaveOut",
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[settings]()) {
		if name := f.Tag.Get("json"); tested[name] == "" {
			t.Errorf("no test is named for the option %s", name)
		}
	}
}
