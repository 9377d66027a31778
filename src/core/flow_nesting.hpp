// Nodes that are flows. Pure.
//
// They are unfolded when a request enters the engine: the nodes in them become nodes of the outer flow, and edges that only
// the engine can make hold them together. All other code knows one flat graph. docs/flows.md has the rules.
//
//   fetch ──▶ subtitles/(begin) ─within─▶ subtitles/listen ──▶ subtitles/translate ─output─▶ subtitles ──▶ publish
//                    │                          └──────────────part──────────────────────────▶ │
//                    └─────────────────────────────────part──────────────────────────────────▶ │
#pragma once

#include <flowfabric/flows.hpp>

namespace flowfabric {

// Nodes keep their places; what is added follows them. Refused: edges and groups that only the engine makes, inner flows without
// nodes, with names that do not exist or are not unique, and too deep ones. The error names the place in the request.
Result<void> unfold_flows(FlowRequest& request);
Result<void> unfold_flows(FlowAddition& addition);

}  // namespace flowfabric
