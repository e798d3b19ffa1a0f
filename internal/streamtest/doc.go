// Package streamtest checks that what is streamed is what is stored: clients of every protocol follow the
// golden runs live, are cut off, come back, and see owners and the store fail.
package streamtest
