package builtin

// FinalOutputTool is the tool by which a model gives an answer that is held to a schema,
// if its provider cannot hold answers to one.
const FinalOutputTool = "final_output"
