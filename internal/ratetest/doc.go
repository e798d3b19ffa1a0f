// Package ratetest checks that processes on one PostgreSQL database share the rate limit of a
// provider that they are not told about: worker processes run agents against a provider that is a
// token bucket.
package ratetest
