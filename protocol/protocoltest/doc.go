// Package protocoltest helps to test protocols: servers on an in-memory store ([Rig]) and a suite that
// every protocol must pass ([Test]).
//
//	func TestProtocol(t *testing.T) {
//		protocoltest.Test(t, protocoltest.Protocol{Routes: aisdk.Routes(), …})
//	}
package protocoltest
