package access

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awaken-go/awaken/bus"
	"github.com/awaken-go/awaken/bus/bustest"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/store/memory"
)

// A key that is revoked in one process stops working, and its streams end, in the others as soon as the
// bus tells them; if it does not, within five seconds.
func TestKeys_ARevocationReachesOtherProcesses(t *testing.T) {
	for _, cut := range []bool{false, true} {
		bubbletest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			m, store := bustest.NewMemory(7999, bustest.Faults{}), memory.NewProfile()
			join := func() *Keys {
				k, x := NewKeys(store), bus.NewExchange(m.Join())
				k.Share(x)
				go x.Run(ctx)
				return k
			}
			here, there := join(), join()
			synctest.Wait()
			m.Cut(cut)
			key, secret, err := here.Make(ctx, server.Key{Kind: server.RunKey}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if found, err := there.Find(ctx, server.Credential{Secret: secret.Expose()}); found == nil || err != nil {
				t.Fatalf("the key is not found: %v", err)
			}
			var ended time.Time
			stop := there.Watch(server.Credential{Secret: secret.Expose()}, func() { ended = time.Now() })
			from := time.Now()
			if err := here.Revoke(ctx, key.ID, nil); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
			found, err := there.Find(ctx, server.Credential{Secret: secret.Expose()})
			if err != nil || (found != nil) != cut {
				t.Errorf("bus cut: %t: the key is found a moment after its revocation: %t, %v", cut, found != nil, err)
			}
			time.Sleep(5 * time.Second)
			synctest.Wait()
			if took := ended.Sub(from); ended.IsZero() || !cut && took > time.Millisecond {
				t.Errorf("bus cut: %t: the stream ended after %s", cut, took)
			}
			stop()
			cancel()
			synctest.Wait()
		})
	}
}
