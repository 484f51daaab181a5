export { findAlteredTimers } from './altered-timers.js';
export { findCursorsBeyondEnd } from './cursors-beyond-end.js';
export { SelfCheck } from './self-check.js';
