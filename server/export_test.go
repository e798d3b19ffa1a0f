package server

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/awaken-go/awaken/eval/live/jury"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/schedule/fire"
)

// Table returns the routes of a server.
func (s *Server) Table() []protocol.Route { return s.routes }

// WriteCertificate writes a certificate and its key.
var WriteCertificate = writeCertificate

// StopEvals stops the evaluations of this process, as the end of Serve does.
func (s *Server) StopEvals() {
	s.evals.jobs.stop()
	s.evals.jobs.all.Wait()
}

// SweepEvals continues the evaluations that no process has.
func (s *Server) SweepEvals(ctx context.Context) { s.evals.jobs.sweep(ctx) }

// LiveWorker returns what judges the runs of users.
func (s *Server) LiveWorker() *jury.Worker { return s.lives.worker }

// RunTemplate is the run of a schedule or a trigger.
type RunTemplate = runTemplate

// TemplateInput returns the input that a template starts a run with.
func TemplateInput(data string) (*mailbox.Submission, error) {
	t, err := templateOf([]byte(data))
	if err != nil {
		return nil, err
	}
	return t.submission()
}

// ScheduleWorker returns what starts the runs of schedules.
func (s *Server) ScheduleWorker() *fire.Worker { return s.schedules.worker }

// ObserveWithExemplars returns a function that records durations with exemplars.
func ObserveWithExemplars() func(ctx context.Context, h prometheus.Observer, seconds float64) {
	return new(exemplars).observe
}
