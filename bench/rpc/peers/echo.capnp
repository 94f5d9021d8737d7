# 64 bytes in both directions, as bench/rpc/calls.cpp sends them.
@0xb6c1e4a2f90d7731;

struct Record {
  a @0 :UInt64;
  b @1 :UInt64;
  c @2 :UInt64;
  d @3 :UInt64;
  e @4 :UInt64;
  f @5 :UInt64;
  g @6 :UInt64;
  h @7 :UInt64;
}

interface Echo {
  echo @0 (in :Record) -> (out :Record);
}
