import { canonicalEmail } from './canonical-email.js';

it.each([
  ['Ada@Example.ORG', 'ada@example.org'],
  ['ada+river@example.org', 'ada@example.org'],
  ['ada+a+b@example.org', 'ada@example.org'],
  ['a.d.a+x@GMail.com', 'ada@gmail.com'],
  ['ada@googlemail.com', 'ada@gmail.com'],
  ['a.da@example.org', 'a.da@example.org'],
  ['"ada"@example.org', 'ada@example.org'],
  ['"a\\d\\a+x"@example.org', 'ada@example.org'],
  ['+ada@example.org', '+ada@example.org'],
  ['ada@bücher.example', 'ada@xn--bcher-kva.example'],
])('reduces %s to the mailbox %s', (email, mailbox) => {
  expect(canonicalEmail(email)).toBe(mailbox);
});
