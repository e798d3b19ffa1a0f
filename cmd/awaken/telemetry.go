package main

import (
	"context"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/awaken-go/awaken/plugin/observe"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/telemetry"
)

// normalShare is the share of runs without a failure of which the files of events tell.
const normalShare = .01

// telemetryEnd is how long the end of the program waits for the collector.
const telemetryEnd = 5 * time.Second

// openObserver returns the plugin that observes all runs, for /metrics and for what the environment names: a collector, a folder. It is nil
// if the environment says so.
func openObserver(ctx context.Context, m *server.Metrics, log *slog.Logger) (plugin *observe.Plugin, end func(), err error) {
	off, err := envBool("AWAKEN_OBSERVABILITY_DISABLE")
	if err != nil || off {
		return nil, func() {}, err
	}
	whole, err := envBool("AWAKEN_TRACE_SAMPLING_DISABLE")
	if err != nil {
		return nil, nil, err
	}
	sent, err := telemetry.Open(ctx, moduleVersion(), log)
	if err != nil {
		return nil, nil, configError("%w", err)
	}
	m.Spans(sent.Lost)
	opts := observe.Options{Sinks: []observe.Sink{m.Observer()}, Tracer: sent.Tracer, Meter: sent.Meter, Labels: m.Labels(), Always: true}
	if dir := os.Getenv("AWAKEN_PERSISTENT_SINK_DIR"); dir != "" {
		file, err := observe.NewFile(dir, observe.FileOptions{Logger: log})
		if err != nil {
			return nil, nil, configError("AWAKEN_PERSISTENT_SINK_DIR: %w", err)
		}
		if whole {
			opts.Sinks = append(opts.Sinks, file)
		} else {
			opts.Sinks = append(opts.Sinks, observe.Sampled(file, normalShare))
		}
	}
	plugin = observe.New(opts)
	return plugin, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), telemetryEnd)
		defer cancel()
		if err := plugin.Shutdown(ctx); err != nil {
			log.Warn("cannot write the last events", "error", err)
		}
		if err := sent.Shutdown(ctx); err != nil {
			log.Warn("cannot send the last telemetry", "error", err)
		}
	}, nil
}

// envBool returns the value of a variable that is true or false.
func envBool(name string) (bool, error) {
	value := os.Getenv(name)
	if value == "" {
		return false, nil
	}
	v, err := strconv.ParseBool(value)
	if err != nil {
		return false, configError("%s is %q, want true or false", name, value)
	}
	return v, nil
}
