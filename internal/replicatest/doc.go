// Package replicatest checks that it does not matter which replica a client is connected to: several
// servers share a PostgreSQL database, of which only the first works. Clients see runs as they happen,
// commands reach the replica that works a run, faults of the network and of servers change no
// transcript, and every request may be served by another replica: of each protocol, and of the control plane,
// keys, budgets and limits (TestClients and TestPrograms, which need the built program).
//
//	go test ./internal/replicatest                                  # small samples
//	AWAKEN_LONG=1 go test ./internal/replicatest -v -timeout 30m    # 200 commands of each kind, minutes of faults
//	AWAKEN_FIGURES=1 go test ./internal/replicatest -v -timeout 30m -run TestFigures # on a machine that does nothing else
package replicatest
