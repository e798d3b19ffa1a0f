package config

import "github.com/awaken-go/awaken/internal/failpoint"

// The places where a process may die in the course of a write.
var (
	atPlanned  = failpoint.New("config.planned")  // checked and sealed
	atCompiled = failpoint.New("config.compiled") // there is a candidate
	atApplied  = failpoint.New("config.applied")  // it is durable, and not live here
	atSwapped  = failpoint.New("config.swapped")  // it is live here, and nobody was told
	atFollowed = failpoint.New("config.followed") // what another process published is live here
	atRefused  = failpoint.New("config.refused")  // a write was refused, which is not in the audit log
)
