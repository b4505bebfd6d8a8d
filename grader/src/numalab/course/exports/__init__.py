"""Write grades as the systems of courses take them."""
