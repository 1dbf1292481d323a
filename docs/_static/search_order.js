// Search puts how-to and reference pages first, and decisions last. The other numbers are those of Sphinx.
var Scorer = {
  score: ([page, , , , score]) =>
    score + (/^(how-to|tutorial|reference)\//.test(page) ? 10 : 0) - (/^(decisions|project|files)\//.test(page) ? 20 : 0),
  objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
