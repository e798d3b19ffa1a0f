package server

// call is a request with all that the server has.
type call struct {
	request
	srv *Server
}
