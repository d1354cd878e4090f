-- SPDX-License-Identifier: Apache-2.0
--
-- Shows the captures of "tagbus rec convert --to pcapng" in Wireshark and tshark: link type
-- USER0 (147). Copy it to the folder that Help > About Wireshark > Folders calls Personal
-- Lua Plugins, or name it: tshark -X lua_script:tagbus.lua -r run.pcapng
--
-- The publisher is the interface of a packet: frame.interface_name.

local tagbus = Proto("tagbus", "tagbus")

local kinds = {
  [0] = "message", [1] = "joined", [2] = "position", [3] = "gap", [4] = "lost",
  [5] = "ended", [6] = "vanished", [7] = "stopped", [8] = "stepped",
}
local causes = {
  [0] = "other", [1] = "full", [2] = "memory", [3] = "connection", [4] = "ended",
  [5] = "left-out", [6] = "queue-full",
}

local f = {
  tag = ProtoField.uint64("tagbus.tag", "Tag", base.HEX),
  counter = ProtoField.uint64("tagbus.counter", "Counter", base.DEC),
  last = ProtoField.uint64("tagbus.last", "Last counter before", base.DEC),
  count = ProtoField.uint64("tagbus.count", "Messages missing", base.DEC),
  version = ProtoField.uint8("tagbus.version", "Version", base.DEC),
  kind = ProtoField.uint8("tagbus.kind", "Kind", base.DEC, kinds),
  status = ProtoField.uint8("tagbus.status", "Status", base.HEX),
  cause = ProtoField.uint8("tagbus.cause", "Cause", base.DEC, causes),
  flags = ProtoField.uint8("tagbus.flags", "Flags", base.HEX),
  request = ProtoField.bytes("tagbus.request", "Request"),
  offset = ProtoField.uint32("tagbus.piece.offset", "Piece begins at", base.DEC),
  all = ProtoField.uint32("tagbus.piece.of", "Bytes of all pieces", base.DEC),
  failed = ProtoField.bool("tagbus.failed", "Failed", 8, nil, 0x02),
  data = ProtoField.bytes("tagbus.data", "Data"),
  text = ProtoField.string("tagbus.text", "Text"),
}
tagbus.fields = f

local header = 20

-- A long message is several packets, each with a piece of it.
local function rest(buffer, tree, at, field)
  if bit.band(buffer(19, 1):uint(), 4) ~= 0 and buffer:len() >= at + 8 then
    tree:add(f.offset, buffer(at, 4))
    tree:add(f.all, buffer(at + 4, 4))
    at = at + 8
  end
  if buffer:len() > at then
    tree:add(field, buffer(at))
  end
end

local function message(buffer, tree)
  tree:add(f.counter, buffer(8, 8))
  tree:add(f.status, buffer(18, 1))
  tree:add(f.flags, buffer(19, 1))
  local at = header
  if bit.band(buffer(19, 1):uint(), 1) ~= 0 and buffer:len() >= at + 16 then
    tree:add(f.request, buffer(at, 16))
    at = at + 16
  end
  rest(buffer, tree, at, f.data)
end

local function event(buffer, tree, kind)
  if kind == 2 then
    tree:add(f.last, buffer(8, 8))
  elseif kind == 3 then
    tree:add(f.count, buffer(8, 8))
    tree:add(f.cause, buffer(18, 1))
  end
  tree:add(f.failed, buffer(19, 1))
  rest(buffer, tree, header, f.text)
end

function tagbus.dissector(buffer, pinfo, root)
  if buffer:len() < header or buffer(16, 1):uint() ~= 1 then
    return 0
  end
  local kind = buffer(17, 1):uint()
  local tag = buffer(0, 8)
  local tree = root:add(tagbus, buffer())
  pinfo.cols.protocol = "tagbus"
  tree:add(f.tag, tag)
  tree:add(f.version, buffer(16, 1))
  tree:add(f.kind, buffer(17, 1))
  if kind == 0 then
    message(buffer, tree)
    pinfo.cols.info = string.format("tag 0x%s counter %s", tag:bytes():tohex(true), tostring(buffer(8, 8):uint64()))
  else
    event(buffer, tree, kind)
    pinfo.cols.info = kinds[kind] or string.format("event %d", kind)
  end
  return buffer:len()
end

DissectorTable.get("wtap_encap"):add(wtap.USER0, tagbus)
