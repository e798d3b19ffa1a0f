package openai

import (
	"strconv"
	"strings"
)

const (
	responsePrefix = "resp_"
	callPrefix     = "call_"
	approvalPrefix = "mcpr_"
)

// keeping says how the server keeps a response. The ID of the response has it.
type keeping string

const (
	kept     keeping = ""            // it can be read later
	unstored keeping = "unstored_"   // the client asked not to store it: it cannot be found by its ID
	ahead    keeping = "background_" // the client asked to answer before it is there
)

// responseID returns the ID of the nth response of a run, counted from 1.
func responseID(runID string, n int, how keeping) string {
	id := responsePrefix + string(how) + runID
	if n > 1 {
		id += "~" + strconv.Itoa(n)
	}
	return id
}

// parseResponse returns what an ID of a response stands for. The ID of a run stands for its first response.
func parseResponse(id string) (runID string, n int, how keeping) {
	id = strings.TrimPrefix(id, responsePrefix)
	for _, k := range []keeping{unstored, ahead} {
		if rest, ok := strings.CutPrefix(id, string(k)); ok {
			id, how = rest, k
			break
		}
	}
	if at := strings.LastIndexByte(id, '~'); at > 0 {
		if n, err := strconv.Atoi(id[at+1:]); err == nil && n > 1 {
			return id[:at], n, how
		}
	}
	return id, 1, how
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
