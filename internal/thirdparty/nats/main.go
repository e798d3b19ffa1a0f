// Nats is a NATS server for tests. It takes the flags of nats-server, prints its address when it is ready, and ends when its standard
// input is closed.
//
//	nats -p -1
//	nats -p 4222 --user u --pass p
//	nats -p -1 -credentials DIR
//
// The last one accepts the users of one account only. DIR gets two files of credentials: user.creds of a user of the account, and
// stranger.creds of a user of an account that the server does not know.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/awaken-go/awaken/internal/thirdparty/internal/serve"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "nats:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	fs := flag.NewFlagSet("nats", flag.ContinueOnError)
	credentials := fs.String("credentials", "", "folder for credentials of an account")
	opts, err := server.ConfigureOptions(fs, args, nil, fs.Usage, nil)
	if err != nil {
		return err
	}
	opts.Host, opts.NoLog, opts.NoSigs, opts.TLSTimeout = "127.0.0.1", true, true, 30
	if *credentials != "" {
		if err := requireAccount(opts, *credentials); err != nil {
			return err
		}
	}
	s, err := server.NewServer(opts)
	if err != nil {
		return err
	}
	s.Start()
	if !s.ReadyForConnections(30 * time.Second) {
		return errors.New("the server is not ready after 30 seconds")
	}
	if err := serve.Announce(s.Addr().String()); err != nil {
		return err
	}
	serve.AwaitEnd()
	s.Shutdown()
	s.WaitForShutdown()
	return nil
}

// requireAccount makes a server refuse everyone but the users of an account, and writes credentials to a folder.
func requireAccount(opts *server.Options, dir string) error {
	operator, err := nkeys.CreateOperator()
	if err != nil {
		return err
	}
	trusted, err := operator.PublicKey()
	if err != nil {
		return err
	}
	account, err := nkeys.CreateAccount()
	if err != nil {
		return err
	}
	known, err := account.PublicKey()
	if err != nil {
		return err
	}
	signed, err := jwt.NewAccountClaims(known).Encode(operator)
	if err != nil {
		return err
	}
	resolver := &server.MemAccResolver{}
	if err := resolver.Store(known, signed); err != nil {
		return err
	}
	opts.TrustedKeys, opts.AccountResolver = []string{trusted}, resolver
	stranger, err := nkeys.CreateAccount()
	if err != nil {
		return err
	}
	return errors.Join(writeUser(filepath.Join(dir, "user.creds"), account), writeUser(filepath.Join(dir, "stranger.creds"), stranger))
}

// writeUser writes the credentials of a new user of an account.
func writeUser(file string, account nkeys.KeyPair) error {
	user, err := nkeys.CreateUser()
	if err != nil {
		return err
	}
	id, err := user.PublicKey()
	if err != nil {
		return err
	}
	token, err := jwt.NewUserClaims(id).Encode(account)
	if err != nil {
		return err
	}
	seed, err := user.Seed()
	if err != nil {
		return err
	}
	text, err := jwt.FormatUserConfig(token, seed)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}
