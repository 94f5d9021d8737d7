// The scenarios, grouped by source file.
#pragma once

namespace sweep {

// messages.cpp
void am();          // to a handler that reads messages in place
void am_kept();     // to a handler that gets a copy
void am_queue();    // to a completion queue, with posts that use the backlog
void am_network();  // with comp_semantic network
void am_remote();   // with comp_semantic remote
void am_remote_backlog();
void send();
void send_backlog();
void send_late();  // the receives are posted after the messages have arrived
void send_remote();
void send_remote_late();
void stream();
void stream_window();  // most messages wait for room in the window
void stream_remote();

// one_sided.cpp
void put();
void put_signal();
void get();
void get_signal();
void atomic();
void layout();  // sends and puts of non-contiguous buffers

// resources.cpp
void resources();  // one object of each kind is allocated and freed
void registration();
void device();  // messages use a second device
void engine();
void collectives();
void graph();
void cancelling();

}  // namespace sweep
