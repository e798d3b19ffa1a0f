package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/awaken-go/awaken"
)

// ReservationReader is the part of [awaken.Budget] that lists what is reserved.
type ReservationReader Scope

// Reservations returns what is reserved, by run.
func (s *ReservationReader) Reservations(ctx context.Context) (map[string]*awaken.Reservation, error) {
	var out map[string]*awaken.Reservation
	err := s.db.Read(ctx, func(c Conn) error {
		out = map[string]*awaken.Reservation{}
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
func DecodeReservation(runID string, data []byte) (*awaken.Reservation, error) {
	r := new(awaken.Reservation)
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("reservation of run %s: %w", runID, err)
	}
	return r, nil
}
