"""Models and files: JSON that holds a model to the last bit, ONNX, and writing that is whole or not at all.

Here belongs the form of a file and the distrust of what is read. What the parts of a model mean belongs to ``_model``.
"""
