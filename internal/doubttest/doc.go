// Package doubttest kills real servers inside effectful calls, takes every way out of the doubt through every protocol, and
// reads all that models, people, clients and exports are given about the calls. Until a doubt is settled, no text claims to
// know whether the call took effect; then every text says what the settlement says.
package doubttest
