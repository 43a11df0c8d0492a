"""English words that say nothing about what a question or an incident is about."""

from __future__ import annotations

from typing import Final

COMMON: Final = frozenset({
    "a", "about", "above", "after", "all", "alarm", "alert", "also", "am", "an", "and", "any",
    "are", "as", "at", "be", "because", "been", "before", "below", "but", "by", "can", "did",
    "do", "does", "each", "error", "errors", "fail", "failed", "failing", "fails", "for", "from", "had",
    "has", "have", "how", "i", "if", "in", "incident", "into", "is", "issue", "it", "its", "many",
    "minute", "minutes", "more", "no", "not", "of", "off", "on", "one", "or", "our", "out",
    "over", "per", "problem", "s", "says", "second", "seconds", "seems", "service", "since", "so",
    "some", "than", "that", "the", "their", "them", "there", "they", "this", "though", "time",
    "to", "under", "up", "was", "we", "were", "what", "when", "where", "which", "while", "who",
    "why", "will", "with", "you", "threshold", "crossed", "critical", "warning",
    "again", "ago", "already", "always", "another", "anybody", "anyone", "anything", "away", "back", "bad", "best",
    "break", "breaks", "broke", "broken", "came", "come", "comes", "could", "day", "days", "during", "even", "ever",
    "every", "everybody", "everyone", "everything", "everywhere", "few", "find", "fix", "found", "get", "gets",
    "getting", "give", "gives", "go", "goes", "going", "gone", "got", "happen", "happened", "happening", "happens",
    "he", "help", "her", "here", "him", "his", "hour", "hours", "just", "keep", "keeps", "kept", "like", "ll", "long",
    "look", "looks", "lot", "made", "make", "makes", "may", "maybe", "me", "might", "month", "most", "much", "must",
    "my", "need", "needs", "never", "new", "next", "night", "nobody", "nothing", "now", "often", "onto", "other",
    "others", "ought", "please", "put", "puts", "quickly", "re", "really", "right", "said", "same", "say", "see",
    "seem", "seen", "several", "she", "should", "show", "shows", "somebody", "someone", "something", "sometimes",
    "still", "such", "suddenly", "take", "takes", "tell", "then", "these", "thing", "things", "those", "today",
    "tomorrow", "tonight", "too", "try", "trying", "until", "us", "use", "used", "using", "ve", "very", "wait", "waiting", "want",
    "wants", "way", "week", "weeks", "went", "whole", "whom", "without", "work", "working", "works", "would", "wrong",
    "yesterday", "yet",
    "pm", "min", "mins", "sec", "secs", "morning", "evening", "afternoon", "noon", "midnight", "clock", "half", "quarter",
    "past", "last", "once", "twice", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
    "fine", "ok", "okay", "think", "sure", "isn", "isnt", "aren", "don", "dont", "doesn", "doesnt", "didn", "didnt", "won", "cannot",
    "haven", "hasn", "people", "almost", "bit", "bits", "else", "idea", "know", "knows", "loads", "nearly", "quite", "rather",
    "somehow", "stuff", "whatever", "wouldn", "couldn", "shouldn", "wasn", "weren",
})  # fmt: skip
"""Words that say nothing about an incident's subject."""
