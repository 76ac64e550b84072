CREATE TABLE stack (
    stack_id INTEGER PRIMARY KEY,
    frames VARCHAR[]
);

COMMENT ON TABLE stack IS 'kernel stacks';
COMMENT ON COLUMN stack.stack_id IS 'key';
COMMENT ON COLUMN stack.frames IS 'functions, innermost first';
