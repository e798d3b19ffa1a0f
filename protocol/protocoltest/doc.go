// Package protocoltest is what the tests of protocols share: servers on a store in memory
// ([Rig]), and a suite that every protocol has to pass ([Test]).
//
//	func TestProtocol(t *testing.T) {
//		protocoltest.Test(t, protocoltest.Protocol{Routes: aisdk.Routes(), …})
//	}
package protocoltest
