package load

var OpenLoop = openLoop
