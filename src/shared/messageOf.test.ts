import { messageOf } from './messageOf';

test.each<[unknown, string]>([
  ['broken', 'broken'],
  [new Error('timed out'), 'timed out'],
  [{ status: 502, statusText: 'Bad Gateway', data: { error: 'north-a: refused' } }, 'north-a: refused'],
  [{ status: 403, data: { message: 'Access denied' }, statusText: 'Forbidden' }, 'Access denied'],
  [{ status: 404, data: {}, statusText: 'Not Found' }, 'Not Found'],
  [{ message: '', error: 'gone' }, 'gone'],
  [undefined, 'the reason is unknown'],
  ['', 'the reason is unknown'],
  [{ message: 7 }, 'the reason is unknown'],
])('%j reads %s', (error, text) => {
  expect(messageOf(error)).toBe(text);
});
