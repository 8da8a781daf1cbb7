// Package live is the plugin's side of the agents' streams: it finds the agents, connects to those that somebody looks
// at, keeps what they sent in the last minutes, and hands it out.
//
// A [Hub] belongs to one data source instance. It holds one connection to a node whatever the number of panels: a
// [Subscription] is told of every tick as it comes, a window ([Hub.Window]) reads the minutes before now. A node is
// connected when the first of them wants it and disconnected a while after the last one went. Trouble with a node is
// never the end of anything: the hub keeps trying, says what is wrong ([NodeStatus], gpu.Notice) and goes on with
// the others.
//
// Times in everything this package hands out are on the plugin's clock, see clock.
package live
