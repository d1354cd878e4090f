package tcp

// Begin is connect without the system.
var Begin = begin
