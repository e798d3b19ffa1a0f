package openai

import (
	"strconv"
	"strings"
)

const (
	responsePrefix = "resp_"
	unstored       = "unstored_"
	callPrefix     = "call_"
	approvalPrefix = "mcpr_"
)

// responseID returns the id of the nth response of a run, counted from 1. One that the client asked not
// to store has an id by which it cannot be found.
func responseID(runID string, n int, stored bool) string {
	id := responsePrefix
	if !stored {
		id += unstored
	}
	if id += runID; n > 1 {
		id += "~" + strconv.Itoa(n)
	}
	return id
}

// parseResponse returns what an id of a response stands for. The id of a run stands for its first response.
func parseResponse(id string) (runID string, n int, stored bool) {
	id, short := strings.CutPrefix(strings.TrimPrefix(id, responsePrefix), unstored)
	if at := strings.LastIndexByte(id, '~'); at > 0 {
		if n, err := strconv.Atoi(id[at+1:]); err == nil && n > 1 {
			return id[:at], n, !short
		}
	}
	return id, 1, !short
}

// callID returns the id of a question of a run as the client sees it. It contains the run, because a client
// that answers may name nothing else.
func callID(prefix, runID, ticketID string) string { return prefix + runID + "." + ticketID }

// parseCall returns the run and the ticket that an id stands for, if the server made it.
func parseCall(id string) (runID, ticketID string, ok bool) {
	rest, call := strings.CutPrefix(id, callPrefix)
	if !call {
		if rest, call = strings.CutPrefix(id, approvalPrefix); !call {
			return "", "", false
		}
	}
	runID, ticketID, ok = strings.Cut(rest, ".")
	return runID, ticketID, ok && runID != "" && ticketID != ""
}
