import userEvent, { PointerEventsCheckLevel } from '@testing-library/user-event';

/** A user who does not wait between keys. Whether a style lets the pointer through is not looked up: jsdom takes seconds for it. */
export function testUser() {
  return userEvent.setup({ delay: null, pointerEventsCheck: PointerEventsCheckLevel.Never });
}
