package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/awaken-go/awaken/money"
)

// ReservationReader is the part of [money.Budget] that lists what is reserved.
type ReservationReader Scope

// Reservations returns what is reserved, by run.
func (s *ReservationReader) Reservations(ctx context.Context) (map[string]*money.Reservation, error) {
	var out map[string]*money.Reservation
	err := s.db.Read(ctx, func(c Conn) error {
		out = map[string]*money.Reservation{}
		return c.Query(ctx, `SELECT run, data FROM {p}_reservations WHERE tenant = ?`, []any{s.tenant}, func(scan func(...any) error) error {
			var run string
			var data []byte
			if err := scan(&run, &data); err != nil {
				return err
			}
			s.db.Dialect().unescape(&run)
			r, err := DecodeReservation(run, data)
			out[run] = r
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("reservations: %w", err)
	}
	return out, nil
}

// DecodeReservation returns the reservation of a run.
func DecodeReservation(runID string, data []byte) (*money.Reservation, error) {
	r := new(money.Reservation)
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("reservation of run %s: %w", runID, err)
	}
	return r, nil
}
