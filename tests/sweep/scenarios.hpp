// The scenarios, by the file that they are in.
#pragma once

namespace sweep {

// messages.cpp
void am();                 // to a handler that reads it in place
void am_kept();            // to one that keeps a copy
void am_queue();           // to a completion queue; what can't go waits in the backlog
void am_network();         // complete when the network is through with the buffer
void am_remote();          // complete when delivered
void am_remote_backlog();
void send();
void send_backlog();
void send_late();          // the receives are posted when the messages have come
void send_remote();
void send_remote_late();
void stream();
void stream_window();      // of which most messages wait for room
void stream_remote();

// one_sided.cpp
void put();
void put_signal();
void get();
void get_signal();
void atomic();
void layout();             // sends, puts and gets of buffers in pieces

// resources.cpp
void resources();          // one of each kind is allocated and freed
void registration();
void device();             // a second one, that messages go through
void engine();
void collectives();
void graph();
void cancelling();

}  // namespace sweep
